/**
 * The session's TensorBoard in a frame: the output of `%tensorboard`, and a tab of its own. The
 * notebook only stores the folder; the address is requested from the session's own server each time.
 */
import { translate } from '@/i18n/translate';
import type { MimeModel, RenderMime, Shell, TabWidget, Widget } from './jupyter';
import { messages } from './messages';
import type { Lab } from './plugin';
import type { Server } from './server';

/** The MIME type that spawner/catalog/kernel/startup.py displays. */
export const TENSORBOARD_MIME = 'application/vnd.data-scientist-portal.tensorboard+json';
const BEFORE_TEXT = 0;
/** The frame has another origin than JupyterLab; it may not replace JupyterLab's page. */
const SANDBOX =
  'allow-scripts allow-same-origin allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox';
const TAB_ID = 'portal-tensorboard-tab';

export type Factory = Parameters<RenderMime['addFactory']>[0];
type NewWidget<W extends Widget> = new (options: { node: HTMLElement }) => W;

export function tensorboardFactory(Widget: NewWidget<Widget>, server: Server): Factory {
  return {
    safe: false, // it starts a program, so a notebook from elsewhere must be trusted first
    mimeTypes: [TENSORBOARD_MIME],
    createRenderer: () => {
      const node = document.createElement('div');
      node.className = 'portal-tensorboard';
      const renderModel = async (model: MimeModel) => fill(node, await requestFrame(server, model));
      return Object.assign(new Widget({ node }), { renderModel });
    },
  };
}

export function addTensorboardOutput(lab: Lab, server: Server, rendermime?: RenderMime): void {
  const Widget = lab['@lumino/widgets']?.Widget;
  if (Widget !== undefined) rendermime?.addFactory(tensorboardFactory(Widget, server), BEFORE_TEXT);
}

/** Return the caption, and the frame's address unless the server refuses. */
export async function requestFrame(
  server: Server,
  model?: MimeModel,
): Promise<{ caption: string; url: string | null }> {
  const request = model?.data[TENSORBOARD_MIME];
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
  frame.setAttribute('sandbox', SANDBOX);
  frame.src = url;
  node.append(frame);
}

/** Return the command that shows TensorBoard in a tab among the notebooks, one tab at most. */
export function tensorboardTab(
  Widget: NewWidget<TabWidget>,
  server: Server,
  shell: Shell,
  icon: unknown,
): () => Promise<void> {
  let tab: TabWidget | null = null;
  return async () => {
    if (tab === null || tab.isDisposed) {
      const node = document.createElement('div');
      node.className = 'portal-tensorboard portal-tensorboard-tab';
      tab = new Widget({ node });
      tab.id = TAB_ID;
      Object.assign(tab.title, { label: 'TensorBoard', closable: true, icon });
      shell.add(tab, 'main');
      shell.activateById(TAB_ID);
      fill(node, await requestFrame(server));
      return;
    }
    shell.activateById(TAB_ID);
  };
}
