import { describe, expect, it } from 'vitest';
import type { Widget } from './jupyter';
import { RequestError } from './server';
import { requestFrame, TENSORBOARD_MIME, tensorboardFactory } from './tensorboard';
import { FakePage } from './testing';

class NodeWidget implements Widget {
  readonly node: HTMLElement;
  readonly isVisible = true;
  constructor(options: { node: HTMLElement }) {
    this.node = options.node;
  }
}

describe('the output of %tensorboard', () => {
  const request = { logdir: '/home/alice/runs', asked: 12.5 };
  const model = { data: { [TENSORBOARD_MIME]: request, 'text/plain': 'x' } };

  it("frames the session's TensorBoard", async () => {
    const page = new FakePage();
    expect(await requestFrame(page, model)).toEqual({
      caption: 'TensorBoard of this session: /home/alice/runs',
      url: 'https://boards/tensorboard/1/ticket/',
    });
    expect(page.requests).toEqual([request]);
  });

  it('shows an error', async () => {
    const page = new FakePage();
    page.answer = new RequestError('There is no such folder.', 422);
    const frame = await requestFrame(page, model);
    expect(frame).toEqual({ caption: 'There is no such folder.', url: null });
  });

  it('is rendered only in a notebook that is trusted', () => {
    const factory = tensorboardFactory(NodeWidget, new FakePage());
    expect([factory.mimeTypes, factory.safe]).toEqual([[TENSORBOARD_MIME], false]);
  });
});
