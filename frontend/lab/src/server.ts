/** Client of the session's own server, which calls the portal with a secret that this page never
 * sees. */
import type {
  Executions,
  Facts,
  FramedTensorboard,
  LogEnd,
  SessionApp,
  SessionJobs,
  SessionUpdate,
  UsageSeries,
} from './facts';
import type { ServerSettings, Shared } from './jupyter';
import { messages } from './messages';

/** A failed request, with a message that can be shown unchanged. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export interface Server {
  fetchUpdate(): Promise<SessionUpdate>;
  extend(minutes: number): Promise<Facts>;
  /** `request` is the output of a cell that ran %tensorboard. */
  startTensorboard(request?: object): Promise<FramedTensorboard>;
  keep(): Promise<void>;
  usage(): Promise<UsageSeries>;
  jobs(): Promise<SessionJobs>;
  logEnd(jobId: string): Promise<LogEnd>;
  cancelJob(jobId: string): Promise<void>;
  apps(): Promise<SessionApp[]>;
  /** `file` is a path for JupyterLab, null for an app that needs none; with `replace` also if it
   * runs with another one. */
  startApp(name: string, file: string | null, replace: boolean): Promise<void>;
  /** `page` is this page's connection to the kernel; `since` a version, 0 for everything. */
  outputs(kernel: string, page: string, since: number): Promise<Executions>;
  forgetOutputs(kernel: string, cells: string[]): Promise<void>;
}

async function message(response: Response): Promise<string> {
  try {
    const body: unknown = await response.json();
    const message = body instanceof Object && 'message' in body ? body.message : null;
    return typeof message === 'string' && message !== '' ? message : messages.noAnswer;
  } catch {
    return messages.noAnswer;
  }
}

export function createServer(
  { makeRequest }: Shared['@jupyterlab/services']['ServerConnection'],
  settings: ServerSettings,
): Server {
  const baseUrl = `${settings.baseUrl.replace(/\/*$/, '/')}portal/session`;

  async function sendRequest<T>(method: string, path = '', body?: object): Promise<T> {
    const init = { method, ...(body && { body: JSON.stringify(body) }) };
    let response: Response;
    try {
      response = await makeRequest(baseUrl + path, init, settings);
    } catch {
      throw new RequestError(messages.noAnswer, 0);
    }
    if (!response.ok) throw new RequestError(await message(response), response.status);
    return (await response.json()) as T;
  }

  return {
    fetchUpdate: () => sendRequest<SessionUpdate>('GET'),
    extend: (minutes) => sendRequest<Facts>('POST', '/extend', { minutes }),
    startTensorboard: (request) => sendRequest<FramedTensorboard>('PUT', '/tensorboard', request),
    keep: async () => {
      await sendRequest('PUT', '/keep');
    },
    usage: () => sendRequest<UsageSeries>('GET', '/usage'),
    jobs: () => sendRequest<SessionJobs>('GET', '/jobs'),
    logEnd: (jobId) => sendRequest<LogEnd>('GET', `/jobs/${jobId}/log`),
    cancelJob: async (jobId) => {
      await sendRequest('POST', `/jobs/${jobId}/cancel`);
    },
    apps: async () => (await sendRequest<{ apps: SessionApp[] }>('GET', '/apps')).apps,
    startApp: async (name, file, replace) => {
      await sendRequest('PUT', `/apps/${name}`, { file, replace });
    },
    outputs: (kernel, page, since) =>
      sendRequest<Executions>(
        'GET',
        `/outputs?${new URLSearchParams({ kernel, page, since: `${since}` })}`,
      ),
    forgetOutputs: async (kernel, cleared) => {
      await sendRequest('PUT', '/outputs', { kernel, cleared });
    },
  };
}
