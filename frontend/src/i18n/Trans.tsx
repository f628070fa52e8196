import { Trans as LinguiTrans, type TransProps } from '@lingui/react';

/** Wrap a value that contains markup: Lingui would otherwise parse it as the message's tags. */
const asItIs = (value: unknown): unknown =>
  // biome-ignore lint/complexity/noUselessFragments: it makes an element of a text
  typeof value === 'string' && value.includes('<') ? <>{value}</> : value;

/**
 * A translated text with elements in it. Values are rendered as plain text, whatever markup they
 * contain. Lingui's macro of the same name compiles to this component (lingui.config.ts).
 */
export function Trans({ values, ...others }: TransProps) {
  const safe =
    values &&
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, asItIs(value)]));
  return <LinguiTrans {...others} values={safe} />;
}
