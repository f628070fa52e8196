import { type DragEvent, useState } from 'react';

/** Return the event handlers of an area that files can be dropped on. */
export function useDropArea(writable: boolean, onDrop: (dropped: DataTransfer) => void) {
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
      if (writable) onDrop(event.dataTransfer);
    },
  };
}
