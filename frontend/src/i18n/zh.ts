/** Everything in Simplified Chinese, as one file: what the pages say, and what the portal says. */
import type { Messages } from '@lingui/core';

export { default as said } from '../../../portal/said.zh.json';

const catalogues = import.meta.glob<{ messages: Messages }>(
  ['./words.zh.po', '../features/*/words.zh.po'],
  {
    eager: true,
  },
);

export const messages: Messages = Object.assign(
  {},
  ...Object.values(catalogues).map((each) => each.messages),
);
