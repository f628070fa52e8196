import { t } from '@lingui/core/macro';
import { type DragEvent, useState } from 'react';
import { ApiError } from '@/api/problem';
import { complain } from '@/ui/complain';
import { uploads } from './uploader';

/** What an area needs so that files can be dropped on it. */
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
      const { files, folders } = dropped(event.dataTransfer);
      uploads.add(root, path, files);
      if (folders > 0)
        complain(new ApiError(0, 'folder', t`Folders can’t be dropped here: upload a zip of it.`));
    },
  };
}

/** The files of a drop; folders aren't files, and reading one as such fails. */
function dropped(data: DataTransfer): { files: File[]; folders: number } {
  const items = [...data.items].filter(({ kind }) => kind === 'file');
  const plain = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory);
  const files = plain.flatMap((item) => item.getAsFile() ?? []);
  return { files, folders: items.length - plain.length };
}
