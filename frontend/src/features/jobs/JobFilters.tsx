import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { locale } from '@/i18n';
import { SearchField } from '@/ui/SearchField';
import classes from './JobFilters.module.css';
import { isFiltered, type JobsSearch, NO_TEMPLATE, readJobsSearch } from './search';

const STATES: [group: string, choices: [value: string, label: string][]][] = [
  [
    t`Not ended`,
    [
      ['live', t`Waiting or running`],
      ['waiting', t`Waiting`],
      ['running', t`Running`],
    ],
  ],
  [
    t`Ended`,
    [
      ['ended', t`Ended (any result)`],
      ['completed', t`Completed`],
      ['failed', t`Failed, for any reason`],
      ['out_of_memory', t`Out of memory`],
      ['timeout', t`Timed out`],
      ['cancelled', t`Cancelled`],
    ],
  ],
];

const ORDERS: [value: string, label: string][] = [
  ['', t`Newest first`],
  ['oldest', t`Oldest first`],
  ['name', t`By name, A to Z`],
  ['name_down', t`By name, Z to A`],
  ['ended', t`Most recently ended first`],
];

interface Props {
  search: JobsSearch;
  /** of templates by name */
  titles: ReadonlyMap<string, string>;
}

/** The filters and the order, kept in the address so that a link shows the same. */
export function JobFilters({ search, titles }: Props) {
  const navigate = useNavigate();
  const set = (name: keyof JobsSearch, value: string): void => {
    const next = readJobsSearch({ ...search, [name]: value });
    void navigate({ to: '/jobs', search: next, replace: true });
  };
  return (
    <search className={classes.filters} aria-label={t`Filters`}>
      <SearchField
        className={classes.find}
        label={t`Find by name or Slurm job number`}
        placeholder={t`Name or Slurm job number`}
        value={search.q ?? ''}
        onSearch={(text) => set('q', text)}
      />
      <NativeSelect
        aria-label={t`State`}
        value={search.state ?? ''}
        onChange={(event) => set('state', event.currentTarget.value)}
      >
        <option value="">{t`Any state`}</option>
        {STATES.map(([group, choices]) => (
          <optgroup key={group} label={group}>
            <Options choices={choices} />
          </optgroup>
        ))}
      </NativeSelect>
      <TemplateSelect
        value={search.template ?? ''}
        titles={titles}
        onChange={(name) => set('template', name)}
      />
      <TextInput
        type="date"
        className={classes.since}
        leftSection={
          <span className={classes.word}>{t({ message: 'Since', context: 'a day' })}</span>
        }
        leftSectionWidth={56}
        aria-label={t`Submitted since this day`}
        value={search.since ?? ''}
        onChange={(event) => set('since', event.currentTarget.value)}
      />
      <NativeSelect
        aria-label={t`Order`}
        value={search.order ?? ''}
        onChange={(event) => set('order', event.currentTarget.value)}
      >
        <Options choices={ORDERS} />
      </NativeSelect>
      {isFiltered(search) && (
        <Button
          className={classes.clear}
          variant="subtle"
          color="gray"
          onClick={() =>
            void navigate({ to: '/jobs', search: search.order ? { order: search.order } : {} })
          }
        >
          <Trans>Show all</Trans>
        </Button>
      )}
    </search>
  );
}

function Options({ choices }: { choices: [value: string, label: string][] }) {
  return choices.map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
}

interface TemplateProps {
  value: string;
  titles: ReadonlyMap<string, string>;
  onChange: (name: string) => void;
}

function TemplateSelect({ value, titles, onChange }: TemplateProps) {
  const known = value === '' || value === NO_TEMPLATE || titles.has(value);
  const byTitle = [...titles].sort(([, a], [, b]) => a.localeCompare(b, locale()));
  return (
    <NativeSelect
      aria-label={t`Template`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{t`Any template`}</option>
      <option value={NO_TEMPLATE}>{t`No template`}</option>
      {!known && <option value={value}>{value}</option>}
      <Options choices={byTitle} />
    </NativeSelect>
  );
}
