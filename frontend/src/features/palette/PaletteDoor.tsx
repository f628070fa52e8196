import { type ComponentType, useEffect, useRef, useState } from 'react';
import { router } from '@/app/router';
import { complain } from '@/ui/complain';
import { isForDialog } from '@/ui/focus';
import { isTyping, NOTHING_PRESSED, press, type Wish } from './keys';
import { show, singleKeysCount, useOpened, type Which } from './opened';
import { isPaletteKey } from './paletteKeys';

type Dialog = ComponentType<{ opened: boolean }>;

const BROUGHT: Record<Which, () => Promise<Dialog>> = {
  palette: async () => (await import('./Palette')).Palette,
  shortcuts: async () => (await import('./ShortcutsDialog')).Shortcuts,
};

/** Listens for the keys that count on every page, and brings what they open when it is first wanted. */
export function PaletteDoor() {
  useKeys();
  return (
    <>
      <Brought which="palette" />
      <Brought which="shortcuts" />
    </>
  );
}

/** A dialog that is fetched when it is first opened. If it can't be fetched the page stays as it is. */
function Brought({ which }: { which: Which }) {
  const opened = useOpened() === which;
  const [Found, setFound] = useState<Dialog | null>(null);
  const missing = opened && Found === null;
  useEffect(() => {
    if (!missing) return;
    BROUGHT[which]()
      .then((found) => setFound(() => found))
      .catch((error: unknown) => {
        show(null);
        complain(error);
      });
  }, [missing, which]);
  return Found && <Found opened={opened} />;
}

function useKeys(): void {
  const pressed = useRef(NOTHING_PRESSED);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || isForDialog(event)) return;
      if (isPaletteKey(event)) {
        event.preventDefault();
        show('palette');
        return;
      }
      if (!isPlainKey(event) || !singleKeysCount()) return;
      const [next, wish] = press(pressed.current, event.key, event.timeStamp);
      pressed.current = next;
      if (wish === null) return;
      event.preventDefault();
      fulfil(wish);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function isPlainKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return false;
  const at = event.target;
  if (!(at instanceof HTMLElement)) return true;
  return !isTyping(at.tagName, at.getAttribute('type'), at.isContentEditable);
}

function fulfil(wish: Wish): void {
  switch (wish.kind) {
    case 'page':
      void router.navigate({ href: wish.href });
      return;
    case 'search': {
      const field = document.querySelector<HTMLElement>('main input[type="search"]');
      if (field) field.focus();
      else show('palette');
      return;
    }
    default:
      show(wish.kind);
  }
}
