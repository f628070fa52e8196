/** The shortcut of the palette, by the operating system's convention. */
const onMac = /^(Mac|iP)/.test(navigator.platform);

/** The shortcut as displayed. */
export const PALETTE_KEYS = onMac ? '⌘ K' : 'Ctrl K';

export const isPaletteKey = (event: KeyboardEvent): boolean =>
  event.key.toLowerCase() === 'k' &&
  (onMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey;
