/** The address of the portal's form that runs a notebook, with fields filled in. Pure. See
 * src/features/submit/link.ts. */
import { notebookSearch } from '@/features/sessions/notebookLink';

/** Encode a value like the portal's router: text that would parse as another type is quoted. */
function encodedPath(value: string | object): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    JSON.parse(value);
  } catch {
    return value;
  }
  return JSON.stringify(value);
}

/** Return the form's address. `path` is the notebook's, relative to the home; `environment` that of
 * its kernel. */
export function runAddress(form: string, path: string, environment: string | null): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(notebookSearch({ path: `~/${path}`, environment })))
    search.set(name, encodedPath(value));
  return `${form}?${search}`;
}
