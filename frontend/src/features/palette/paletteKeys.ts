/** The keys that open the palette: what users of this system expect. */
const onMac = /^(Mac|iP)/.test(navigator.platform);

/** As users write them. */
export const PALETTE_KEYS = onMac ? '⌘ K' : 'Ctrl K';

export const isPaletteKey = (event: KeyboardEvent): boolean =>
  event.key.toLowerCase() === 'k' &&
  (onMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey;
