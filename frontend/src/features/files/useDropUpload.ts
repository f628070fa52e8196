import { t } from '@lingui/core/macro';
import { showError } from '@/ui/showError';
import { useDropArea } from '@/ui/useDropArea';
import { collectDropped, uploadDropped } from './dropped';

/** Return the props of an area that uploads dropped files and folders. */
export const useDropUpload = (root: string, path: string, writable: boolean) =>
  useDropArea(t`Drop to upload here`, writable, (data) => {
    // the browser clears the dropped items as soon as this handler returns
    const items = [...data.items].filter(({ kind }) => kind === 'file');
    const dropped = items.flatMap((item) => item.webkitGetAsEntry() ?? item.getAsFile() ?? []);
    collectDropped(dropped)
      .then((all) => uploadDropped({ root, path }, all))
      .catch(showError);
  });
