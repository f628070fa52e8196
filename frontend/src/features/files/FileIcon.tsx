import { type Entry, isFile, isFolder } from './types';

const FOLDER = 'M3.5 6.5h6l2 2.5h9v10h-17z';
const FILE = 'M6 3.5h8l4.5 4.5v12.5H6zM14 3.5V8h4.5';
const OTHER = 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v5M12 16v.01';

/** A decorative icon of an entry's kind. */
export function FileIcon({ entry }: { entry: Pick<Entry, 'kind' | 'target_kind'> }) {
  const folder = isFolder(entry as Entry);
  const path = folder ? FOLDER : isFile(entry as Entry) ? FILE : OTHER;
  return (
    <svg
      width={18}
      height={18}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      data-folder={folder}
    >
      <path d={path} />
    </svg>
  );
}
