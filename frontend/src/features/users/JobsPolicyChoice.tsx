import { plural, t } from '@lingui/core/macro';
import { Choices } from './Choices';

export type JobsPolicy = 'cancel' | 'leave';

interface Props {
  value: JobsPolicy;
  onChange: (value: JobsPolicy) => void;
  /** the present number of jobs */
  jobs: number;
}

/** The choice of what to do with a user's batch jobs. */
export function JobsPolicyChoice({ value, onChange, jobs }: Props) {
  return (
    <Choices
      label={plural(jobs, {
        0: 'Batch jobs',
        one: 'Batch jobs (# now)',
        other: 'Batch jobs (# now)',
      })}
      value={value}
      onChange={onChange}
      choices={[
        {
          value: 'cancel',
          title: plural(jobs, { 0: 'Cancel them', one: 'Cancel # job', other: 'Cancel # jobs' }),
          about: t`Queued and running jobs are cancelled; files they have written are kept.`,
        },
        {
          value: 'leave',
          title: t`Let them end by themselves`,
          about: t`They continue until they finish or reach their time limit.`,
        },
      ]}
    />
  );
}
