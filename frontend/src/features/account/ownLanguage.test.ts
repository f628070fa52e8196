import { describe, expect, it } from 'vitest';
import { afterLogin } from './ownLanguage';

describe('after a login', () => {
  it('the pages go by what the portal keeps, whatever was chosen before', () => {
    expect(afterLogin('zh', null)).toEqual({ does: 'follow', language: 'zh' });
    expect(afterLogin('en', 'zh')).toEqual({ does: 'follow', language: 'en' });
  });

  it('the choice is sent to the portal, if it stores none', () => {
    expect(afterLogin(null, 'zh')).toEqual({ does: 'save', language: 'zh' });
    expect(afterLogin(null, 'en')).toEqual({ does: 'save', language: 'en' });
  });

  it('the pages go by the browser if nothing was chosen, or nothing that they know', () => {
    expect(afterLogin(null, null)).toEqual({ does: 'follow', language: null });
    expect(afterLogin('fr', null)).toEqual({ does: 'follow', language: null });
  });
});
