import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { TextInput } from '@mantine/core';
import type { JobDetail } from '@/api/types';
import startClasses from '@/features/start/StartPage.module.css';
import { isLike, isText } from '@/lib/drafts';
import { type FormDraft, type Put, useKept } from '@/lib/useFormDraft';
import classes from './SubmitPage.module.css';

export interface More {
  name: string;
  logdir: string;
}

const isMore = isLike<More>({ name: isText, logdir: isText });

/** Begins with an earlier job's name. */
export function useMore(kept: FormDraft, from: JobDetail | undefined): [More, Put<More>] {
  return useKept(kept, 'more', () => ({ name: from?.name ?? '', logdir: '' }), isMore);
}

interface Props {
  value: More;
  /** what it is called when it is given no name */
  unnamed: string;
  problems: Record<string, string>;
  onChange: (value: More) => void;
}

const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;

/** What a job is called, and where TensorBoard looks. */
export function MoreFields({ value, unnamed, problems, onChange }: Props) {
  return (
    <fieldset className={startClasses.group}>
      <legend>
        <Trans>Name and TensorBoard</Trans>
      </legend>
      <div className={`${startClasses.fields} ${classes.parameters}`}>
        <TextInput
          label={t`Name, optional`}
          placeholder={unnamed}
          value={value.name}
          onChange={(event) => onChange({ ...value, name: event.currentTarget.value })}
          error={problems.name}
          autoComplete="off"
        />
        <TextInput
          {...EXACT}
          label={t`TensorBoard's folder, optional`}
          placeholder={t`the job's own`}
          value={value.logdir}
          onChange={(event) => onChange({ ...value, logdir: event.currentTarget.value })}
          error={problems.logdir}
        />
      </div>
    </fieldset>
  );
}

/** As it is sent: what is empty is left out. */
export function toMore({ name, logdir }: More): { name?: string; logdir?: string } {
  return {
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(logdir.trim() === '' ? {} : { logdir: logdir.trim() }),
  };
}
