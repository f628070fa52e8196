/**
 * Keeps escapes like \u202e in the values of messages. Lingui decodes them in the finished text, for
 * catalogs of other tools. A file or job named like that, or shown like that because its real
 * characters would reverse the text direction (lib/escapeInvisible.ts), must stay as it is.
 */
import type { I18n, MessageDescriptor } from '@lingui/core';

/** Stands for a backslash. Not a character, so no text has it. */
const STAND_IN = '\ufdd0';

type Values = Record<string, unknown>;

const hide = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.replaceAll('\\', STAND_IN) : value,
    ]),
  );

/** Change this object so that its messages keep the escapes of their values. */
export function keepEscapes(i18n: I18n): void {
  const translate = i18n._.bind(i18n);
  i18n._ = (
    id: MessageDescriptor | string,
    values?: Values,
    options?: { message?: string },
  ): string => {
    const text =
      typeof id === 'string'
        ? translate(id, values && hide(values), options)
        : translate(id.values ? { ...id, values: hide(id.values) } : id);
    return text.replaceAll(STAND_IN, '\\');
  };
}
