/** Sends one chunk. Uses XMLHttpRequest, because fetch reports no upload progress. */
import { t } from '@lingui/core/macro';
import { ApiError, OFFLINE_MESSAGE, toApiError } from '@/api/problem';

/** A connection is considered dead after this time without any progress. */
const STALLED_MS = 60_000;

interface Sending {
  /** the portal's offset after this chunk; rejects with an ApiError */
  answer: Promise<number>;
  abort: () => void;
}

export function sendChunk(
  id: string,
  offset: number,
  bytes: Blob,
  progress: (sent: number) => void,
): Sending {
  const request = new XMLHttpRequest();
  let stalled: number | undefined;
  const answer = new Promise<number>((resolve, reject) => {
    const watch = (): void => {
      window.clearTimeout(stalled);
      stalled = window.setTimeout(() => {
        reject(new ApiError(0, 'offline', OFFLINE_MESSAGE));
        request.abort();
      }, STALLED_MS);
    };
    request.open('PUT', `/api/v1/files/uploads/${encodeURIComponent(id)}?offset=${offset}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.upload.onprogress = (event) => {
      watch();
      progress(event.loaded);
    };
    request.onerror = () => reject(new ApiError(0, 'offline', OFFLINE_MESSAGE));
    request.onabort = () => reject(new ApiError(0, 'aborted', t`The upload was stopped.`));
    request.onloadend = () => window.clearTimeout(stalled);
    request.onload = () => {
      const body = readJson(request.responseText);
      if (request.status === 200 && hasOffset(body)) resolve(body.offset);
      else reject(toApiError(request.status, body, null));
    };
    watch();
    request.send(bytes);
  });
  return { answer, abort: () => request.abort() };
}

/** Parse JSON; undefined for another response, such as a proxy's page. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const hasOffset = (body: unknown): body is { offset: number } =>
  typeof body === 'object' && body !== null && 'offset' in body && typeof body.offset === 'number';
