/** What this page asks its own server; the server asks the portal, with a secret this page never sees. */
import type { Facts, News } from './facts';
import type { ServerSettings, Shared } from './jupyter';
import { words } from './words';

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
  startTensorboard(): Promise<void>;
  keep(): Promise<void>;
}

async function message(response: Response): Promise<string> {
  try {
    const body: unknown = await response.json();
    const found = body instanceof Object && 'message' in body ? body.message : null;
    return typeof found === 'string' && found !== '' ? found : words.noAnswer;
  } catch {
    return words.noAnswer;
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
      throw new Refusal(words.noAnswer, 0);
    }
    if (!response.ok) throw new Refusal(await message(response), response.status);
    return (await response.json()) as T;
  }

  return {
    news: () => ask<News>('GET'),
    extend: (minutes) => ask<Facts>('POST', '/extend', { minutes }),
    startTensorboard: async () => {
      await ask('PUT', '/tensorboard');
    },
    keep: async () => {
      await ask('PUT', '/keep');
    },
  };
}
