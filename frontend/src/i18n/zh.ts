/** What the pages say in Simplified Chinese, as one file. */
import type { Messages } from '@lingui/core';

const catalogues = import.meta.glob<{ messages: Messages }>(
  ['./words.zh.po', '../features/*/words.zh.po'],
  { eager: true },
);

export const messages: Messages = Object.assign(
  {},
  ...Object.values(catalogues).map((each) => each.messages),
);
