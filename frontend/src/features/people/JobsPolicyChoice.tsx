import { plural } from '@/features/sessions/words';
import { Choices } from './Choices';

export type JobsPolicy = 'cancel' | 'leave';

interface Props {
  value: JobsPolicy;
  onChange: (value: JobsPolicy) => void;
  /** how many there are now */
  jobs: number;
}

/** What becomes of somebody's batch jobs. */
export function JobsPolicyChoice({ value, onChange, jobs }: Props) {
  const now = jobs > 0 ? `, of which there ${jobs === 1 ? 'is' : 'are'} ${jobs} now` : '';
  return (
    <Choices
      label={`Batch jobs${now}`}
      value={value}
      onChange={onChange}
      choices={[
        {
          value: 'cancel',
          title: jobs > 0 ? `Cancel ${plural(jobs, 'job')}` : 'Cancel them',
          about: 'Waiting and running ones end; what they have written stays.',
        },
        {
          value: 'leave',
          title: 'Let them end by themselves',
          about: 'They go on until they are done or their time is up.',
        },
      ]}
    />
  );
}
