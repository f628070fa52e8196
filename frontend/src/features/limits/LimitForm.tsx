import { Button, Stack, TextInput, type TextInputProps } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { meanwhileText } from '@/features/admin/meanwhile';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useDraft } from '@/lib/useDraft';
import { useLive } from '@/live/store';
import { Cancelled } from '@/ui/complain';
import { Notice } from '@/ui/Notice';
import { type Draft, draftOf, type Errors, formErrors, rebased, toValues } from './draft';
import classes from './Limits.module.css';
import { limitsChanged } from './queries';
import { type Field, LISTS, NUMBERS, type Values, type Whose } from './shapes';
import { FIELDS, LABELS } from './words';

/** What is written down, and which version of it. */
export type Written = Values & { version: number };

interface Props {
  whose: Whose;
  /** what is written down now; null if nothing is */
  before: Written | null;
  /** what stands below a field: what counts if it is left empty, or how much can be given */
  hint?: (field: Field) => string;
  /** which fields there are; all, unless it says otherwise */
  offered?: (field: Field) => boolean;
  /** rejects with the portal's refusal */
  onSave: (values: Values, version: number | null) => Promise<unknown>;
  onCancel?: (() => void) | undefined;
  /** what else there is to decide, above the button */
  children?: ReactNode;
}

const PLACEHOLDERS: Partial<Record<Field, string>> = {
  time_limit_minutes: 'hours',
  memory_gb: 'GB',
};
const UNITS: Partial<Record<Field, string>> = { time_limit_minutes: ', hours', memory_gb: ', GB' };

/** What stands below a field stands below all fields of its row, which stay in line. */
const COMMON = {
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
  inputWrapperOrder: ['label', 'input', 'description', 'error'],
} satisfies TextInputProps;

/** Limits of one person, group or everybody. An empty field says nothing of its own. */
export function LimitForm(props: Props) {
  const { whose, before, hint = () => '', offered = () => true, onSave, onCancel } = props;
  const types = useLive((s) => s.cluster?.gpus)?.map((gpu) => gpu.type) ?? [];
  const { draft, setDraft, refused } = useDraft<Draft>(`limits/${whose.scope}/${whose.name}`, () =>
    draftOf(before, types),
  );
  const base = useBase(before, types, draft, setDraft);
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<Errors>({});
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const found = formErrors(draft);
    setErrors(found);
    setRefusal(null);
    if (Object.keys(found).length > 0) return focusProblem();
    setBusy(true);
    try {
      await withPassword(() => onSave(toValues(draft, base), base?.version ?? null));
    } catch (error) {
      if (error instanceof Cancelled) return;
      refused(error);
      setRefusal(error);
      if (error instanceof ApiError && error.status === 409) await limitsChanged();
      focusProblem();
    } finally {
      setBusy(false);
    }
  };

  const focusProblem = (): void => {
    window.requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };

  const set = (change: Partial<Draft>): void => {
    setErrors({});
    setDraft({ ...draft, ...change });
  };
  const error = (name: string): string | undefined => errors[name] ?? fieldMessage(refusal, name);
  const lists = LISTS.filter(offered);

  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {refusal !== null && <Refusal error={refusal} shown={Object.keys(draft.types)} />}
        <div className={classes.fields}>
          {NUMBERS.filter(offered).map((field) => (
            <TextInput
              key={field}
              {...COMMON}
              inputMode="decimal"
              label={`${LABELS[field]}${UNITS[field] ?? ''}`}
              description={hint(field)}
              placeholder={PLACEHOLDERS[field] ?? ''}
              value={draft.numbers[field]}
              onChange={(event) =>
                set({ numbers: { ...draft.numbers, [field]: event.currentTarget.value } })
              }
              error={error(field)}
            />
          ))}
        </div>
        <Types types={types} draft={draft} set={set} error={error} hint={hint} />
        {lists.length > 0 && (
          <div className={classes.fields}>
            {lists.map((field) => (
              <TextInput
                key={field}
                {...COMMON}
                label={`${LABELS[field]} that may be used`}
                description={hint(field) || 'Names, with commas between.'}
                value={draft.lists[field]}
                onChange={(event) =>
                  set({ lists: { ...draft.lists, [field]: event.currentTarget.value } })
                }
                error={error(field)}
              />
            ))}
          </div>
        )}
        {props.children}
        <div className={classes.foot}>
          <Button type="submit" loading={busy}>
            Save
          </Button>
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <span className={classes.quiet}>
            An empty field is no limit of its own; 0 allows none at all.
          </span>
        </div>
      </Stack>
    </form>
  );
}

/** What the form began with. When somebody else has saved, theirs takes its place, in the form too
 * where nothing was typed. */
function useBase(
  before: Written | null,
  types: readonly string[],
  draft: Draft,
  setDraft: (draft: Draft) => void,
): Written | null {
  const [base, setBase] = useState(before);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is what calls for it
  useEffect(() => {
    if (before?.version === base?.version) return;
    setDraft(rebased(draftOf(base, types), draftOf(before, types), draft));
    setBase(before);
  }, [before?.version]);
  return base;
}

interface TypesProps {
  /** those of the cluster, which may arrive after the form */
  types: readonly string[];
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  error: (name: string) => string | undefined;
  hint: (field: Field) => string;
}

function Types({ types, draft, set, error, hint }: TypesProps) {
  const all = [...new Set([...types, ...Object.keys(draft.types)])];
  if (all.length === 0) return null;
  return (
    <fieldset className={classes.types}>
      <legend>GPUs at once, of each type</legend>
      <div className={classes.hint}>{hint('gpus_by_type')}</div>
      <div className={classes.refused}>{error('gpus_by_type')}</div>
      <div className={classes.fields}>
        {all.map((type) => (
          <TextInput
            key={type}
            label={type}
            {...COMMON}
            inputMode="numeric"
            value={draft.types[type] ?? ''}
            onChange={(event) =>
              set({ types: { ...draft.types, [type]: event.currentTarget.value } })
            }
            error={error(`gpus_by_type.${type}`)}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** What no field says. `shown`: the GPU types that have a field. */
function Refusal({ error, shown }: { error: unknown; shown: readonly string[] }) {
  const named = [...FIELDS, ...shown].some((name) => fieldMessage(error, name) !== undefined);
  const meanwhile = meanwhileText(error, (at) => localTime(at, clock.now()));
  if (named && meanwhile === null) return null;
  return <Notice tone="error">{meanwhile ?? sentence(error)}</Notice>;
}
