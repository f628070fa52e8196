import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, TextInput, type TextInputProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import { meanwhileText } from '@/features/admin/meanwhile';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useDraft } from '@/lib/useFormDraft';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { Anew, AsYouLeftIt } from '@/ui/StartOver';
import { useSaving } from '@/ui/useSaving';
import { type Draft, draftOf, formErrors, isTyped, rebased, toValues } from './draft';
import classes from './Limits.module.css';
import { limitsChanged } from './queries';
import {
  type Field,
  LISTS,
  type ListField,
  NUMBERS,
  type NumberField,
  type Values,
  type Whose,
} from './shapes';
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
  time_limit_minutes: t`hours`,
  memory_gb: 'GB',
};
/** Where what is typed has a unit, it stands with the name; lists are of what may be used. */
const FORM_LABELS: Record<NumberField | ListField, string> = {
  ...LABELS,
  time_limit_minutes: t`Longest time, hours`,
  memory_gb: t`Memory at once, GB`,
  partitions: t`Partitions that may be used`,
  accounts: t`Accounts that may be used`,
  qos: t`QOS that may be used`,
};

/** What stands below a field stands below all fields of its row, which stay in line. */
const COMMON = {
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
  inputWrapperOrder: ['label', 'input', 'description', 'error'],
} satisfies TextInputProps;

/** Limits of one person, group or everybody. An empty field says nothing of its own. */
export function LimitForm(props: Props) {
  return <Anew>{(startOver) => <Form {...props} onStartOver={startOver} />}</Anew>;
}

function Form({ onStartOver, ...props }: Props & { onStartOver: () => void }) {
  const { whose, before, hint = () => '', offered = () => true, onSave, onCancel } = props;
  const types = useLive((s) => s.cluster?.gpus)?.map((gpu) => gpu.type) ?? [];
  const {
    draft: typed,
    setDraft: setTyped,
    kept,
  } = useDraft(`limits ${whose.scope} ${whose.name}`, () => null, isTyped);
  // When somebody else has saved, theirs comes in where nothing was typed.
  const written = draftOf(before, types);
  const draft = typed === null ? written : rebased(typed.before, written, typed.now);
  const forget = (): void => {
    setTyped(null);
    kept.drop();
  };
  const saving = useSaving({
    check: () => formErrors(draft),
    save: async () => {
      await onSave(toValues(draft, before), before?.version ?? null);
      // what was typed while it was saved stays
      setTyped((now) => (now === typed ? null : now));
      kept.drop();
    },
    failed: async (error) => {
      if (error instanceof ApiError && error.status === 409) await limitsChanged();
    },
  });
  const { error, refusal } = saving;
  const set = (change: Partial<Draft>): void =>
    setTyped({ before: written, now: { ...draft, ...change } });
  const part: PartProps = { draft, set, error, hint };

  return (
    <form ref={saving.form} onSubmit={(event) => void saving.submit(event)} noValidate>
      <Stack>
        <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
        {refusal !== null && <Refusal error={refusal} shown={Object.keys(draft.types)} />}
        <Numbers fields={NUMBERS.filter(offered)} {...part} />
        <Types types={types} {...part} />
        <Names fields={LISTS.filter(offered)} {...part} />
        {props.children}
        <div className={classes.foot}>
          <Button type="submit" loading={saving.busy}>
            <Trans>Save</Trans>
          </Button>
          {onCancel && (
            <Button
              variant="default"
              onClick={() => {
                forget();
                onCancel();
              }}
            >
              <Trans>Cancel</Trans>
            </Button>
          )}
          <span className={classes.quiet}>
            <Trans>An empty field is no limit of its own; 0 allows none at all.</Trans>
          </span>
        </div>
      </Stack>
    </form>
  );
}

interface PartProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  error: (name: string) => string | undefined;
  hint: (field: Field) => string;
}

interface NumbersProps extends PartProps {
  fields: readonly NumberField[];
}

function Numbers({ fields, draft, set, error, hint }: NumbersProps) {
  return (
    <div className={classes.fields}>
      {fields.map((field) => (
        <TextInput
          key={field}
          {...COMMON}
          inputMode="decimal"
          label={FORM_LABELS[field]}
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
  );
}

interface NamesProps extends PartProps {
  fields: readonly ListField[];
}

function Names({ fields, draft, set, error, hint }: NamesProps) {
  if (fields.length === 0) return null;
  return (
    <div className={classes.fields}>
      {fields.map((field) => (
        <TextInput
          key={field}
          {...COMMON}
          label={FORM_LABELS[field]}
          description={hint(field) || t`Names, with commas between.`}
          value={draft.lists[field]}
          onChange={(event) =>
            set({ lists: { ...draft.lists, [field]: event.currentTarget.value } })
          }
          error={error(field)}
        />
      ))}
    </div>
  );
}

interface TypesProps extends PartProps {
  /** those of the cluster, which may arrive after the form */
  types: readonly string[];
}

function Types({ types, draft, set, error, hint }: TypesProps) {
  const all = [...new Set([...types, ...Object.keys(draft.types)])];
  if (all.length === 0) return null;
  return (
    <fieldset className={classes.types}>
      <legend>
        <Trans>GPUs at once, of each type</Trans>
      </legend>
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
