/** The choice of the app with which the session opens. */
import { useQuery } from '@tanstack/react-query';
import type { CatalogApp, Environment } from '@/api/types';
import { catalogAppsQuery } from '@/features/apps/apps';
import type { OpenWith } from '@/features/apps/openWith';
import { isText, orNull } from '@/lib/drafts';
import { type FormDraft, useDraftField } from '@/lib/useFormDraft';

export interface OpenWithChoice {
  /** the apps that a session of the environment can open with */
  offered: OpenWith[];
  /** null for JupyterLab */
  chosen: OpenWith | null;
  /** the title of the app that was chosen, if the environment doesn't offer it */
  missing: string | null;
}

/** Return the choice for an environment. Pure. */
export function toOpenWithChoice(
  apps: readonly CatalogApp[] | undefined,
  environment: string | undefined,
  preferred: string | null,
): OpenWithChoice {
  // Without the list, the page that opens the app finds out whether the session offers it.
  if (apps === undefined && preferred !== null) {
    const unknown = { name: preferred, title: preferred };
    return { offered: [unknown], chosen: unknown, missing: null };
  }
  const offered = (apps ?? [])
    .filter(({ input, environments }) => input === null && environments.includes(environment ?? ''))
    .map(({ name, title }) => ({ name, title }));
  const chosen = offered.find(({ name }) => name === preferred) ?? null;
  const title = apps?.find(({ name }) => name === preferred)?.title;
  return { offered, chosen, missing: chosen === null ? (title ?? preferred) : null };
}

/** Keep the choice; another environment's app is kept in case the user returns to it. */
export function useOpenWith(
  environment: Environment | undefined,
  fromLink: string | undefined,
  draft: FormDraft,
) {
  const { data } = useQuery(catalogAppsQuery);
  const [preferred, choose] = useDraftField<string | null>(
    draft,
    'app',
    () => fromLink ?? null,
    orNull(isText),
  );
  return { openWith: toOpenWithChoice(data, environment?.name, preferred), choose };
}
