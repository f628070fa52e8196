import type { paths } from '@/api/schema';

/** What the portal promises to answer to a question at this path. */
export type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
