import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect, TextInput } from '@mantine/core';
import { Numbers } from '@/features/limits/LimitForm';
import { emptyText } from '@/features/limits/labels';
import { NUMBERS } from '@/features/limits/types';
import { Fold } from '@/ui/Fold';
import classes from './NewUser.module.css';
import { accountOf, limitsOf, loginGroupOf, type NewUserValues } from './newUser';
import type { NewUserDefaults } from './types';

interface Props {
  values: NewUserValues;
  set: (change: Partial<NewUserValues>) => void;
  defaults: NewUserDefaults;
  fieldError: (field: string) => string | undefined;
}

/** The fields for the groups and the account that a user needs to log in and start something. */
export function NewUserAccess(props: Props) {
  return (
    <div className={classes.fields}>
      <LoginGroup {...props} />
      <SlurmAccount {...props} />
    </div>
  );
}

/** The value of "none". */
const NONE = '';

function LoginGroup({ values, set, defaults, fieldError }: Props) {
  const chosen = loginGroupOf(values, defaults);
  const groups = [...new Set([...defaults.login_groups, ...(chosen ? [chosen] : [])])];
  if (groups.length === 0) return null;
  const none = defaults.login_groups.length > 0 ? t`None: they can't log in` : t`None`;
  return (
    <NativeSelect
      label={t`Login group`}
      description={t`Its members may log in here.`}
      inputWrapperOrder={['label', 'input', 'error', 'description']}
      data={[...groups, { value: NONE, label: none }]}
      value={chosen}
      onChange={(event) => set({ login_group: event.currentTarget.value })}
      error={fieldError('login_group')}
    />
  );
}

function SlurmAccount({ values, set, defaults, fieldError }: Props) {
  const chosen = accountOf(values, defaults);
  const fromLimits = defaults.limits.accounts?.value;
  const given = Array.isArray(fromLimits) ? fromLimits.join(', ') : '';
  const field = {
    label: t`Slurm account`,
    description: t`Sessions and jobs run under it. The portal updates Slurm immediately.`,
    inputWrapperOrder: ['label', 'input', 'error', 'description'] as const,
    value: chosen,
    error: fieldError('slurm_account'),
  };
  const order = { inputWrapperOrder: [...field.inputWrapperOrder] };
  if (defaults.accounts === null)
    return (
      <TextInput
        {...field}
        {...order}
        description={t`Slurm doesn't answer, so the Slurm accounts aren't known.`}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => set({ slurm_account: event.currentTarget.value })}
      />
    );
  const none = given === '' ? t`None: they can't start anything` : t`From the limits: ${given}`;
  const accounts = [...new Set([...defaults.accounts, ...(chosen ? [chosen] : [])])];
  return (
    <NativeSelect
      {...field}
      {...order}
      data={[...accounts, { value: NONE, label: none }]}
      onChange={(event) => set({ slurm_account: event.currentTarget.value })}
    />
  );
}

/** The fields for per-user limits, which override the defaults. */
export function NewUserLimits({ values, set, defaults, fieldError }: Props) {
  const wrong = NUMBERS.some((field) => fieldError(`limits.${field}`) !== undefined);
  return (
    <Fold summary={<Trans>Limits</Trans>} open={wrong || undefined}>
      <Numbers
        fields={NUMBERS}
        draft={{ numbers: limitsOf(values) }}
        set={({ numbers }) => set({ limits: numbers })}
        error={(field) => fieldError(`limits.${field}`)}
        hint={(field) => emptyText(field, defaults.limits[field] ?? null)}
      />
    </Fold>
  );
}
