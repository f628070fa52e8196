import { lazy, Suspense, useEffect, useRef } from 'react';
import { router } from '@/app/router';
import { isTyping, NOTHING_PRESSED, press, type Wish } from './keys';
import { show, singleKeysCount, useOpened } from './opened';
import { isPaletteKey } from './paletteKeys';

const Palette = lazy(async () => ({ default: (await import('./Palette')).Palette }));
const Shortcuts = lazy(async () => ({ default: (await import('./ShortcutsDialog')).Shortcuts }));

/** Listens for the keys that count on every page, and brings what they open when it is first wanted. */
export function PaletteDoor() {
  const opened = useOpened();
  const used = useRef({ palette: false, shortcuts: false });
  if (opened !== null) used.current[opened] = true;
  useKeys();
  return (
    <Suspense fallback={null}>
      {used.current.palette && <Palette opened={opened === 'palette'} />}
      {used.current.shortcuts && <Shortcuts opened={opened === 'shortcuts'} />}
    </Suspense>
  );
}

const inDialog = (): boolean => document.querySelector('[role="dialog"],[role="menu"]') !== null;

function useKeys(): void {
  const pressed = useRef(NOTHING_PRESSED);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || inDialog()) return;
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
