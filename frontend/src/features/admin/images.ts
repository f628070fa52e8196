/** Labels of image imports, and the suggested file name. Pure. */
import { t } from '@lingui/core/macro';
import type { ImageImport } from '@/api/types';
import { sizeText } from '@/lib/sizes';
import type { StateLabel } from '@/ui/StateChip';

export const isActiveImport = ({ state }: Pick<ImageImport, 'state'>): boolean =>
  state === 'queued' || state === 'running';

export function importStateLabel({ state, stopping }: ImageImport): StateLabel {
  switch (state) {
    case 'queued':
      return { label: t`Queued`, tone: 'waiting' };
    case 'running':
      return stopping
        ? { label: t`Stopping`, tone: 'busy' }
        : { label: t`Importing`, tone: 'busy' };
    case 'done':
      return { label: t`Imported`, tone: 'good' };
    case 'failed':
      return { label: t`Failed`, tone: 'bad' };
    case 'cancelled':
      return { label: t`Cancelled`, tone: 'quiet' };
  }
}

/** Return an import's progress. */
export function progressText(row: ImageImport): string {
  if (row.state === 'queued') return t`Queued after another import`;
  if (row.stopping) return t`Stopping`;
  const { percent } = row;
  switch (row.phase) {
    case 'fetching':
      return fetchingText(row.bytes_done);
    case 'unpacking':
      return t`Unpacking its layers`;
    case 'packing':
      return percent === null ? t`Packing one file` : t`Packing one file: ${percent} %`;
    case 'checking':
      return t`Checking the file`;
    default:
      return t`Asking the registry`;
  }
}

function fetchingText(bytes: number | null): string {
  if (!bytes) return t`Fetching`;
  const done = sizeText(bytes);
  return t`Fetching: ${done} so far`;
}

/**
 * Suggest a file name: `docker://nvcr.io/nvidia/pytorch:24.05-py3` → `pytorch-24.05-py3.sif`. Empty
 * while the reference contains no name.
 */
export function suggestedFile(reference: string): string {
  const path = reference.trim().replace(/^[a-z]+:\/\//, '');
  const last = path.split('@')[0]?.split('/').pop() ?? '';
  const name = last.replace(':', '-').replace(/[^A-Za-z0-9._-]/g, '');
  return /^[A-Za-z0-9]/.test(name) ? `${name}.sif` : '';
}
