import { type DragEvent, useState } from 'react';
import classes from './DropArea.module.css';

/** Return the props of an area that files can be dropped on; `label` is shown while files are dragged
 * over it. */
export function useDropArea(
  label: string,
  writable: boolean,
  onDrop: (dropped: DataTransfer) => void,
) {
  const [over, setOver] = useState(false);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes('Files');
  return {
    className: classes.area,
    'data-label': label,
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
