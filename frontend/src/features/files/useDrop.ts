import { type DragEvent, useState } from 'react';
import { showError } from '@/ui/showError';
import { found, take } from './dropped';

/** What an area needs so that files and folders can be dropped on it. */
export function useDrop(root: string, path: string, writable: boolean) {
  const [over, setOver] = useState(false);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes('Files');
  return {
    'data-over': over && writable,
    onDragOver: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = writable ? 'copy' : 'none';
      setOver(true);
    },
    onDragLeave: ({ currentTarget, relatedTarget }: DragEvent) => {
      if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
    },
    onDrop: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      if (!writable) return;
      // the browser forgets what was dropped as soon as this has returned
      const items = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file');
      const dropped = items.flatMap((item) => item.webkitGetAsEntry() ?? item.getAsFile() ?? []);
      found(dropped)
        .then((all) => take({ root, path }, all))
        .catch(showError);
    },
  };
}
