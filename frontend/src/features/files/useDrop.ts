import { showError } from '@/ui/showError';
import { collectDropped, uploadDropped } from './dropped';
import { useDropArea } from './useDropArea';

/** Return the event handlers that upload dropped files and folders. */
export const useDrop = (root: string, path: string, writable: boolean) =>
  useDropArea(writable, (data) => {
    // the browser clears the dropped items as soon as this handler returns
    const items = [...data.items].filter(({ kind }) => kind === 'file');
    const dropped = items.flatMap((item) => item.webkitGetAsEntry() ?? item.getAsFile() ?? []);
    collectDropped(dropped)
      .then((all) => uploadDropped({ root, path }, all))
      .catch(showError);
  });
