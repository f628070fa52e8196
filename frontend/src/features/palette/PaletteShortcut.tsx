import { type ComponentType, useEffect, useRef, useState } from 'react';
import { navigation } from '@/lib/navigation';
import { areSingleKeysOn, isPlainKey } from '@/lib/singleKeys';
import { isForDialog } from '@/ui/focus';
import { showError } from '@/ui/showError';
import { type DialogName, showDialog, useShownDialog } from './dialogs';
import { NOTHING_PRESSED, press, type ShortcutAction } from './keys';
import { isPaletteKey } from './paletteKeys';

type Dialog = ComponentType<{ opened: boolean }>;

const LOADERS: Record<DialogName, () => Promise<Dialog>> = {
  palette: async () => (await import('./Palette')).Palette,
  shortcuts: async () => (await import('./ShortcutsDialog')).Shortcuts,
};

/** Handles the shortcuts of every page, and loads their dialogs on first use. */
export function PaletteShortcut() {
  useKeys();
  return (
    <>
      <LazyDialog name="palette" />
      <LazyDialog name="shortcuts" />
    </>
  );
}

/** A dialog loaded when it is first opened. If loading fails, the page stays as it is. */
function LazyDialog({ name }: { name: DialogName }) {
  const opened = useShownDialog() === name;
  const [Loaded, setLoaded] = useState<Dialog | null>(null);
  const missing = opened && Loaded === null;
  useEffect(() => {
    if (!missing) return;
    LOADERS[name]()
      .then((dialog) => setLoaded(() => dialog))
      .catch((error: unknown) => {
        showDialog(null);
        showError(error);
      });
  }, [missing, name]);
  return Loaded && <Loaded opened={opened} />;
}

function useKeys(): void {
  const pressed = useRef(NOTHING_PRESSED);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || isForDialog(event)) return;
      if (isPaletteKey(event)) {
        event.preventDefault();
        showDialog('palette');
        return;
      }
      if (event.repeat || !isPlainKey(event) || !areSingleKeysOn()) return;
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

function runAction(action: ShortcutAction): void {
  switch (action.kind) {
    case 'page':
      void navigation().router.navigate({ href: action.href });
      return;
    case 'search': {
      const field = document.querySelector<HTMLElement>('main input[type="search"]');
      if (field) field.focus();
      else showDialog('palette');
      return;
    }
    default:
      showDialog(action.kind);
  }
}
