import { api, unwrap } from '@/api/client';
import type { ScriptImport } from '@/api/types';

/** Turn the #SBATCH lines of a script into fields of the form. */
export const importScript = (script: string): Promise<ScriptImport> =>
  unwrap(api.POST('/api/v1/scripts/import', { body: { script } }));
