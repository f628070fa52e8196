import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { actOnMany } from './bulk';

afterEach(() => vi.restoreAllMocks());

const answers = (...bodies: { done: string[]; left: number }[]) => {
  const post = vi.spyOn(api, 'POST');
  for (const { done, left } of bodies)
    post.mockResolvedValueOnce({ data: { done, left, refused: [] }, response: new Response() });
  return post;
};

it('repeats the request for all matching jobs until none are left', async () => {
  const post = answers({ done: ['a', 'unseen'], left: 1 }, { done: ['b'], left: 0 });
  const progress: number[] = [];
  const all = { kind: 'all', until: '2026-01-01T00:00:00Z' } as const;
  const outcome = await actOnMany('remove', all, {}, (done) => progress.push(done));
  expect(outcome).toEqual({ done: ['a', 'unseen', 'b'], refused: [] });
  expect(progress).toEqual([2, 3]);
  expect(post).toHaveBeenCalledTimes(2);
});
