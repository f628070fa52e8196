import { type ComponentType, useEffect, useRef, useState } from 'react';
import { navigation } from '@/lib/navigation';
import { isForDialog } from '@/ui/focus';
import { showError } from '@/ui/showError';
import { isTyping, NOTHING_PRESSED, press, type ShortcutAction } from './keys';
import { areSingleKeysOn, type DialogName, openDialog, useOpenDialog } from './openDialog';
import { isPaletteKey } from './paletteKeys';

type Dialog = ComponentType<{ opened: boolean }>;

const LOADERS: Record<DialogName, () => Promise<Dialog>> = {
  palette: async () => (await import('./Palette')).Palette,
  shortcuts: async () => (await import('./ShortcutsDialog')).Shortcuts,
};

/** Listens for the keys that count on every page, and brings what they open when it is first wanted. */
export function PaletteShortcut() {
  useKeys();
  return (
    <>
      <LazyDialog which="palette" />
      <LazyDialog which="shortcuts" />
    </>
  );
}

/** A dialog that is fetched when it is first opened. If it can't be fetched the page stays as it is. */
function LazyDialog({ which }: { which: DialogName }) {
  const opened = useOpenDialog() === which;
  const [Found, setFound] = useState<Dialog | null>(null);
  const missing = opened && Found === null;
  useEffect(() => {
    if (!missing) return;
    LOADERS[which]()
      .then((found) => setFound(() => found))
      .catch((error: unknown) => {
        openDialog(null);
        showError(error);
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
        openDialog('palette');
        return;
      }
      if (!isPlainKey(event) || !areSingleKeysOn()) return;
      const [next, action] = press(pressed.current, event.key, event.timeStamp);
      pressed.current = next;
      if (action === null) return;
      event.preventDefault();
      runAction(action);
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

function runAction(action: ShortcutAction): void {
  switch (action.kind) {
    case 'page':
      void navigation().router.navigate({ href: action.href });
      return;
    case 'search': {
      const field = document.querySelector<HTMLElement>('main input[type="search"]');
      if (field) field.focus();
      else openDialog('palette');
      return;
    }
    default:
      openDialog(action.kind);
  }
}
