/** A link to the form that submits a notebook as a job. Pure. */
import type { Notebook } from '@/api/types';

const NOTEBOOK_TEMPLATE = 'notebook';

/** Return the search parameters of the form that runs a notebook. */
export function notebookSearch({ path, environment }: Pick<Notebook, 'path' | 'environment'>) {
  return {
    template: NOTEBOOK_TEMPLATE,
    ...(environment === null ? {} : { environment }),
    parameters: { notebook: path },
  };
}
