import type { FormEvent } from 'react';
import { renderToString } from 'react-dom/server';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { isLike, isText } from '@/lib/drafts';
import type { FormDraft } from '@/lib/useFormDraft';
import { Cancelled } from './showError';
import { type Form, useRecordForm } from './useRecordForm';

interface Values {
  name: string;
  owner: string;
}

const isValues = isLike<Values>({ name: isText, owner: isText });
const save = vi.fn<(values: Values) => Promise<string>>();
const saved = vi.fn<(result: string) => void>();
const failed = vi.fn<(error: unknown) => void>();

const draftOf = (stored: FormDraft['stored'] = {}): FormDraft => ({
  stored,
  since: null,
  put: vi.fn(),
  drop: vi.fn(),
});

/** Render a form once; no later state is rendered. */
function open(draft?: FormDraft): Form<Values> {
  let form: Form<Values> | undefined;
  function Page() {
    form = useRecordForm({
      draft,
      isValid: isValues,
      initial: () => ({ name: '', owner: 'alice' }),
      fields: ['name', 'owner_id'],
      check: ({ name }) => (name === '' ? { name: 'Enter a name.' } : {}),
      save,
      saved,
      failed,
    });
    return null;
  }
  renderToString(<Page />);
  if (form === undefined) throw new Error('nothing was rendered');
  return form;
}

async function submit(form: Form<Values>, target: 'form' | 'inside' = 'form'): Promise<boolean> {
  const element = {};
  const preventDefault = vi.fn();
  form.submit({
    currentTarget: element,
    target: target === 'form' ? element : {},
    preventDefault,
  } as unknown as FormEvent);
  await vi.waitFor(() => {});
  await Promise.resolve();
  return preventDefault.mock.calls.length > 0;
}

const stored = { values: { name: 'scratch', owner: 'bob' } };

beforeEach(() => {
  vi.clearAllMocks();
  save.mockResolvedValue('saved');
});

describe('useRecordForm', () => {
  it('starts with the stored draft if it is valid', () => {
    expect(open(draftOf(stored)).values).toEqual({ name: 'scratch', owner: 'bob' });
    expect(open(draftOf({ values: { name: 5 } })).values).toEqual({ name: '', owner: 'alice' });
    expect(open().values).toEqual({ name: '', owner: 'alice' });
  });

  it('has the props of inputs, without errors before the first attempt', () => {
    const { value, error } = open().text('name');
    expect([value, error]).toEqual(['', undefined]);
    expect(open().text('owner', 'owner_id').value).toBe('alice');
    expect(open().generalError).toBeNull();
  });

  it('stores each change in the draft', () => {
    const draft = draftOf(stored);
    open(draft).set({ name: 'home' });
    expect(draft.put).toHaveBeenCalledWith('values', { name: 'home', owner: 'bob' });
  });

  it('saves the values, deletes the draft, then reports the result', async () => {
    const draft = draftOf(stored);
    expect(await submit(open(draft))).toBe(true);
    expect(save).toHaveBeenCalledWith(stored.values);
    expect(draft.drop).toHaveBeenCalledOnce();
    expect(saved).toHaveBeenCalledWith('saved');
    expect(failed).not.toHaveBeenCalled();
  });

  it('saves nothing that it finds wrong', async () => {
    expect(await submit(open())).toBe(true);
    expect(save).not.toHaveBeenCalled();
  });

  it('keeps the draft of a refused form', async () => {
    const draft = draftOf(stored);
    const error = new ApiError(409, 'conflict', 'The name is taken.');
    save.mockRejectedValue(error);
    await submit(open(draft));
    expect(failed).toHaveBeenCalledWith(error);
    expect(draft.drop).not.toHaveBeenCalled();
    expect(saved).not.toHaveBeenCalled();
  });

  it('shows nothing if the user does not confirm the password', async () => {
    save.mockRejectedValue(new Cancelled());
    await submit(open(draftOf(stored)));
    expect(failed).not.toHaveBeenCalled();
  });

  it('ignores the submission of a dialog inside', async () => {
    expect(await submit(open(draftOf(stored)), 'inside')).toBe(false);
    expect(save).not.toHaveBeenCalled();
  });

  it('starts over with the initial values', () => {
    const draft = draftOf(stored);
    open(draft).startOver();
    expect(draft.put).toHaveBeenCalledWith('values', { name: '', owner: 'alice' });
    expect(draft.drop).toHaveBeenCalledOnce();
  });
});
