import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { storage } from '@/testing/storage';
import { filterUnshown, type NotifyState, turnOn, useNotifyState } from './browser';
import type { UserNotification } from './notifications';

const StateProbe = () => useNotifyState('alice');
const standing = (): string => renderToStaticMarkup(createElement(StateProbe));

/** Stub a browser with this permission and `window`. */
function browser(permission: string, window: object): void {
  vi.stubGlobal('Notification', { permission });
  const able = { Notification, isSecureContext: true };
  vi.stubGlobal('window', Object.create(able, Object.getOwnPropertyDescriptors(window)));
}

describe('the state of notifications in a browser', () => {
  let kept: ReturnType<typeof storage>;
  beforeEach(() => {
    kept = storage();
    vi.stubGlobal('localStorage', kept);
    vi.stubGlobal('navigator', { locks: {} });
  });
  afterEach(() => vi.unstubAllGlobals());

  it.each<[NotifyState, string, object]>([
    ['impossible', 'granted', { isSecureContext: false }],
    ['refused', 'denied', {}],
    ['off', 'granted', {}],
  ])('is %s with the permission %s and %o', (expected, permission, window) => {
    browser(permission, { localStorage: kept, ...window });
    expect(standing()).toBe(expected);
  });

  it("follows its user's setting", () => {
    kept.setItem('portal-notify alice', 'on');
    browser('granted', { localStorage: kept });
    expect(standing()).toBe('on');
    kept.setItem('portal-notify alice', 'off');
    kept.setItem('portal-notify bob', 'on');
    expect(standing()).toBe('off');
  });

  it('cannot be saved if storage is disabled', () => {
    browser('granted', {
      get localStorage() {
        throw new DOMException('switched off', 'SecurityError');
      },
    });
    expect(standing()).toBe('forgetful');
  });

  it('cannot be saved while storage is full', async () => {
    const permission = { requestPermission: async () => 'granted' };
    const full = storage(1);
    browser('granted', { localStorage: full });
    Object.assign(Notification, permission);
    expect(await turnOn('alice')).toBe(false);
    expect(standing()).toBe('forgetful');
    browser('granted', { localStorage: kept });
    Object.assign(Notification, permission);
    expect(await turnOn('alice')).toBe(true);
    expect(standing()).toBe('on');
  });
});

describe('notifications still to be shown', () => {
  afterEach(() => vi.unstubAllGlobals());
  const notification = { key: 'job 7 ended' } as UserNotification;

  it.each([
    ['kept by the browser', Number.POSITIVE_INFINITY],
    ['kept by this tab where storage is full', 1],
  ])('is shown once, %s', (_, room) => {
    vi.stubGlobal('window', { localStorage: storage(room) });
    const key = `${notification.key} ${room}`;
    expect(filterUnshown([{ ...notification, key }])).toHaveLength(1);
    expect(filterUnshown([{ ...notification, key }])).toEqual([]);
  });
});
