/**
 * The output of `%tensorboard`: the session's TensorBoard in a frame. The notebook holds the folder
 * alone; its address is asked for each time, of this session's own server.
 */
import { translate } from '@/i18n/translate';
import type { MimeModel, RenderMime, Shared } from './jupyter';
import { messages } from './messages';
import type { Lab } from './plugin';
import type { Server } from './server';

/** As spawner/catalog/kernel/startup.py displays it. */
export const TENSORBOARD_MIME = 'application/vnd.data-scientist-portal.tensorboard+json';
const BEFORE_TEXT = 0;

export type Factory = Parameters<RenderMime['addFactory']>[0];
type NewWidget = Shared['@lumino/widgets']['Widget'];

export function tensorboardFactory(Widget: NewWidget, server: Server): Factory {
  return {
    safe: false, // it starts a program, so a notebook from elsewhere must be trusted first
    mimeTypes: [TENSORBOARD_MIME],
    createRenderer: () => {
      const node = document.createElement('div');
      node.className = 'portal-tensorboard';
      const renderModel = async (model: MimeModel) => fill(node, await askForFrame(server, model));
      return Object.assign(new Widget({ node }), { renderModel });
    },
  };
}

export function addTensorboardOutput(lab: Lab, server: Server, rendermime?: RenderMime): void {
  const Widget = lab['@lumino/widgets']?.Widget;
  if (Widget !== undefined) rendermime?.addFactory(tensorboardFactory(Widget, server), BEFORE_TEXT);
}

/** The caption, and the address of the frame unless the server refuses. */
export async function askForFrame(
  server: Server,
  model: MimeModel,
): Promise<{ caption: string; url: string | null }> {
  const request = model.data[TENSORBOARD_MIME];
  try {
    const board = await server.startTensorboard(request instanceof Object ? request : {});
    return { caption: messages.tensorboardOf(board.logdir), url: board.frame_url };
  } catch (error) {
    return {
      caption: error instanceof Error ? translate(error.message) : messages.noAnswer,
      url: null,
    };
  }
}

function fill(node: HTMLElement, { caption, url }: { caption: string; url: string | null }): void {
  const text = document.createElement('p');
  text.textContent = caption;
  node.replaceChildren(text);
  if (url === null) return;
  const frame = document.createElement('iframe');
  frame.title = 'TensorBoard';
  frame.src = url;
  node.append(frame);
}
