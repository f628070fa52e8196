import type { paths } from '@/api/schema';

/** The API's response type of GET at this path. */
export type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
