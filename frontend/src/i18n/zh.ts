/** The pages' messages in Simplified Chinese, as one file. */
import type { Messages } from '@lingui/core';

const catalogs = import.meta.glob<{ messages: Messages }>(
  ['./messages.zh.po', '../features/*/messages.zh.po'],
  { eager: true },
);

export const messages: Messages = Object.assign(
  {},
  ...Object.values(catalogs).map((each) => each.messages),
);
