/** What this page asks its own server; the server asks the portal, with a secret this page never sees. */
import type { Facts, FramedTensorboard, News } from './facts';
import type { ServerSettings, Shared } from './jupyter';
import { messages } from './messages';

/** A refusal, in words that are shown as they are. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export interface Server {
  news(): Promise<News>;
  extend(minutes: number): Promise<Facts>;
  /** `request` is the output of a cell that ran %tensorboard. */
  startTensorboard(request?: object): Promise<FramedTensorboard>;
  keep(): Promise<void>;
}

async function message(response: Response): Promise<string> {
  try {
    const body: unknown = await response.json();
    const found = body instanceof Object && 'message' in body ? body.message : null;
    return typeof found === 'string' && found !== '' ? found : messages.noAnswer;
  } catch {
    return messages.noAnswer;
  }
}

export function serverOf(
  { makeRequest }: Shared['@jupyterlab/services']['ServerConnection'],
  settings: ServerSettings,
): Server {
  const at = `${settings.baseUrl.replace(/\/*$/, '/')}portal/session`;

  async function ask<T>(method: string, path = '', body?: object): Promise<T> {
    const init = { method, ...(body && { body: JSON.stringify(body) }) };
    let response: Response;
    try {
      response = await makeRequest(at + path, init, settings);
    } catch {
      throw new Refusal(messages.noAnswer, 0);
    }
    if (!response.ok) throw new Refusal(await message(response), response.status);
    return (await response.json()) as T;
  }

  return {
    news: () => ask<News>('GET'),
    extend: (minutes) => ask<Facts>('POST', '/extend', { minutes }),
    startTensorboard: (request) => ask<FramedTensorboard>('PUT', '/tensorboard', request),
    keep: async () => {
      await ask('PUT', '/keep');
    },
  };
}
