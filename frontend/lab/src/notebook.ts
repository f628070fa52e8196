/** The portal's form that runs a notebook, filled in. Pure. See src/features/submit/link.ts. */
import { notebookSearch } from '@/features/sessions/notebookLink';

/** As the portal's router writes a value: text that would read as something else is quoted. */
function encodedPath(value: string | object): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    JSON.parse(value);
  } catch {
    return value;
  }
  return JSON.stringify(value);
}

/** `path` is the notebook's in the home, without a slash before it; `kernel` what it names. */
export function runAddress(form: string, path: string, environment: string | null): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(notebookSearch({ path: `~/${path}`, environment })))
    search.set(name, encodedPath(value));
  return `${form}?${search}`;
}
