import { Trans as LinguiTrans, type TransProps } from '@lingui/react';

/** Lingui looks for a message's tags in the values put into it, too; within an element it doesn't. */
const asItIs = (value: unknown): unknown =>
  // biome-ignore lint/complexity/noUselessFragments: it makes an element of a text
  typeof value === 'string' && value.includes('<') ? <>{value}</> : value;

/** A translated text with elements in it, whose values are shown as they are, whatever markup somebody
 * has put into a name. Lingui's macro of the same name comes to this one (lingui.config.ts). */
export function Trans({ values, ...others }: TransProps) {
  const safe =
    values &&
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, asItIs(value)]));
  return <LinguiTrans {...others} values={safe} />;
}
