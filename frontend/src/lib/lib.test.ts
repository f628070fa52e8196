import { describe, expect, it } from 'vitest';
import { ApiError, fieldMessage, retryAfterSeconds, toApiError } from '@/api/problem';
import { Clock } from './clock';
import { needsFullLoad, safeNext } from './nextPath';
import { plainOutput } from './terminal';
import { ago, duration, elapsed, localTime, timeLeft, utcTime } from './time';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const inMs = (ms: number): string => new Date(NOW + ms).toISOString();
const MIN = 60_000;

describe('times', () => {
  it('formats durations in common units', () => {
    expect(duration(-5)).toBe('0 s');
    expect(duration(59_999)).toBe('59 s');
    expect(duration(8.9 * MIN)).toBe('8 min');
    expect(duration(189 * MIN)).toBe('3 h 09 min');
    expect(duration(180 * MIN)).toBe('3 h');
    expect(duration(52 * 60 * MIN)).toBe('2 d 4 h');
    expect(elapsed(1234)).toBe('1.2 s');
    expect(elapsed(12_345)).toBe('12 s');
  });

  it('warns in the last quarter hour and counts seconds there', () => {
    expect(timeLeft(inMs(15 * MIN), NOW)).toEqual({ text: '15 min', warning: false, over: false });
    expect(timeLeft(inMs(15 * MIN - 1), NOW)).toMatchObject({ text: '14:59 min', warning: true });
    expect(timeLeft(inMs(9000), NOW)).toMatchObject({ text: '9 s', warning: true });
    expect(timeLeft(inMs(-1), NOW)).toEqual({ text: 'time is up', warning: true, over: true });
  });

  it('is empty without an end', () => {
    expect(timeLeft(null, NOW)).toBeNull();
    expect(timeLeft('soon', NOW)).toBeNull();
  });

  it('shows the day only if it is not today', () => {
    expect(localTime(inMs(-MIN), NOW, 'en-GB')).toMatch(/^\d\d:\d\d$/);
    expect(localTime(inMs(-3 * 24 * 60 * MIN), NOW, 'en-GB')).toMatch(/^26 Feb, \d\d:\d\d$/);
    expect(localTime('2024-05-05T12:00:00Z', NOW, 'en-GB')).toMatch(/2024/);
    expect(utcTime('2026-03-01T13:03:09+01:00')).toBe('2026-03-01 12:03:09 UTC');
    expect(ago(inMs(-59_000), NOW)).toBe('just now');
    expect(ago(inMs(-4 * MIN), NOW)).toBe('4 min ago');
  });

  it("follows the server's clock only when it clearly differs", () => {
    const clock = new Clock();
    clock.learn(new Date(NOW + 2000).toUTCString(), NOW);
    expect(clock.now(NOW)).toBe(NOW);
    clock.learn(new Date(NOW + 300_000).toUTCString(), NOW);
    expect(clock.now(NOW)).toBe(NOW + 300_000);
    clock.learn('nonsense', NOW);
    expect(clock.now(NOW)).toBe(NOW + 300_000);
  });
});

describe('safeNext', () => {
  const origin = 'http://portal.test:8000';

  it.each(['/', '/start', '/sessions/1/log?stream=stderr#end', '/user/alice/s1/lab'])(
    'follows %s',
    (path) => {
      expect(safeNext(path, origin)).toBe(path);
    },
  );

  it.each([
    undefined,
    7,
    '',
    'start',
    'https://evil.test/',
    '//evil.test/',
    '/\\evil.test/',
    '/\t/evil.test/',
    '/%09/../..//evil.test/\n',
    'javascript:alert(1)',
    '/..//evil.test/',
    '/login?next=/',
    '/api/v1/logout',
  ])('does not follow %j', (path) => {
    expect(safeNext(path, origin)).toBe('/');
  });

  it('detects pages that need a full load', () => {
    expect(needsFullLoad('/user/alice/s1/lab')).toBe(true);
    expect(needsFullLoad('/users')).toBe(false);
  });
});

describe('plainOutput', () => {
  it('drops colours and keeps the last state of a progress bar', () => {
    expect(plainOutput('\u001b[31mred\u001b[0m\n 10%|#\r 50%|##\r100%|###\nok')).toBe(
      'red\n100%|###\nok',
    );
  });

  it('is fast with many carriage returns', () => {
    const returns = '\r'.repeat(1e6);
    expect(plainOutput(`${returns}a${returns}\n${returns}`)).toBe('a\n');
  });

  it('drops Windows line endings and terminal titles', () => {
    expect(plainOutput('a\r\n\u001b]0;title\u0007b')).toBe('a\nb');
  });
});

describe('problems', () => {
  it('takes the message and the fields of a problem', () => {
    const error = toApiError(
      422,
      {
        type: 'urn:portal:invalid-input',
        title: 'Bad input',
        detail: 'Some fields are wrong.',
        errors: [{ field: 'resources.cpus', message: 'At least 1.' }, { field: 3 }],
      },
      null,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect([error.slug, error.message]).toEqual(['invalid-input', 'Some fields are wrong.']);
    expect(fieldMessage(error, 'cpus')).toBe('At least 1.');
    expect(fieldMessage(error, 'pus')).toBeUndefined();
  });

  it('has a message for a page that is not ours', () => {
    expect(toApiError(502, '<html>', null).message).toMatch(/Try again/);
    expect(toApiError(418, null, null).message).toMatch(/418/);
  });

  it('reads Retry-After as seconds or date', () => {
    expect(retryAfterSeconds('95', NOW)).toBe(95);
    expect(retryAfterSeconds(new Date(NOW + 30_000).toUTCString(), NOW)).toBe(30);
    expect(retryAfterSeconds(null, NOW)).toBeNull();
    expect(retryAfterSeconds('later', NOW)).toBeNull();
  });
});
