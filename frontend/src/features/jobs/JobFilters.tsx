import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect, Skeleton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { locale } from '@/i18n';
import { lazyPart } from '@/ui/lazyPart';
import { discardTypedSearches, SearchField } from '@/ui/SearchField';
import { columnLabel } from './columns';
import classes from './JobFilters.module.css';
import { isFiltered, type JobsSearch, NO_TEMPLATE, readJobsSearch } from './search';

const DateField = lazyPart(async () => (await import('@/ui/DateField')).DateField);

const ORDERS: [value: string, label: string][] = [
  ['', t`Newest first`],
  ['oldest', t`Oldest first`],
  ['name', t`By name, A to Z`],
  ['name_down', t`By name, Z to A`],
  ['ended', t`Most recently ended first`],
  ['ended_up', t`First ended first`],
  ['started', t`Most recently started first`],
  ['started_up', t`First started first`],
  ['duration', t`Longest first`],
  ['duration_up', t`Shortest first`],
];

interface Props {
  search: JobsSearch;
  /** by template name */
  titles: ReadonlyMap<string, string>;
  /** for a list without column headers to sort by */
  withOrder: boolean;
  /** more controls in the same line */
  children?: ReactNode;
}

/** The filters and the order, kept in the address so that a link shows the same. */
export function JobFilters({ search, titles, withOrder, children }: Props) {
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
      <TemplateSelect
        value={search.template ?? ''}
        titles={titles}
        onChange={(name) => set('template', name)}
      />
      <Suspense fallback={<Skeleton className={classes.since} height={36} />}>
        <DateField
          className={classes.since}
          prefix={<span className={classes.word}>{t({ message: 'Since', context: 'a day' })}</span>}
          prefixWidth={56}
          aria-label={t`Submitted since this day`}
          value={search.since ?? ''}
          onChange={(day) => set('since', day)}
        />
      </Suspense>
      {withOrder && (
        <NativeSelect
          aria-label={t`Order`}
          value={search.order ?? ''}
          onChange={(event) => set('order', event.currentTarget.value)}
        >
          <Options choices={ORDERS} />
          {search.by && (
            <option value={search.order}>{t`By ${{ column: columnLabel(search.by) }}`}</option>
          )}
        </NativeSelect>
      )}
      {isFiltered(search) && (
        <Button
          className={classes.clear}
          variant="subtle"
          color="gray"
          onClick={() => {
            discardTypedSearches();
            const { order, by, group } = search;
            const kept = readJobsSearch({ order, by, group });
            void navigate({ to: '/jobs', search: kept });
          }}
        >
          <Trans>Show all</Trans>
        </Button>
      )}
      {children}
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
  const isListed = value === '' || value === NO_TEMPLATE || titles.has(value);
  const byTitle = [...titles].sort(([, a], [, b]) => a.localeCompare(b, locale()));
  return (
    <NativeSelect
      aria-label={t`Template`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{t`Any template`}</option>
      <option value={NO_TEMPLATE}>{t`No template`}</option>
      {!isListed && <option value={value}>{value}</option>}
      <Options choices={byTitle} />
    </NativeSelect>
  );
}
