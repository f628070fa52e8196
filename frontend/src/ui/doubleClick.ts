import type { MouseEvent } from 'react';

/**
 * Return a handler of clicks that ignores the further ones of a double click, for a button that
 * becomes another one under the pointer, such as Start and Stop: they are meant for the first.
 */
export const exceptDoubleClick =
  (act: () => void) =>
  ({ detail }: Pick<MouseEvent, 'detail'>): void => {
    if (detail <= 1) act(); // a key's click has 0
  };
