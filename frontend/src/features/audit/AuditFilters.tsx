import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { translate } from '@/i18n/translate';
import { DateField } from '@/ui/DateField';
import { SearchField } from '@/ui/SearchField';
import classes from './Audit.module.css';
import { groupByKind } from './labels';
import { actionsQuery } from './queries';
import { type AuditSearch, MORE_FILTERS, withFilter } from './search';

/** The filters, kept in the address so that a link shows the same. */
export function AuditFilters({ search }: { search: AuditSearch }) {
  const navigate = useNavigate();
  const folded = MORE_FILTERS.filter((name) => search[name] !== undefined).length;
  const [open, setOpen] = useState(folded > 0);
  const set = (name: keyof AuditSearch, value: string): void => {
    void navigate({ to: '/admin/audit', search: withFilter(search, name, value), replace: true });
  };
  const text = (name: 'actor' | 'target' | 'ip', label: string) => (
    <SearchField label={label} value={search[name] ?? ''} onSearch={(value) => set(name, value)} />
  );
  const day = (name: 'from' | 'to', label: string, ariaLabel: string) => (
    <DateField
      prefix={<span className={classes.quiet}>{label}</span>}
      prefixWidth={50}
      aria-label={ariaLabel}
      value={search[name] ?? ''}
      onChange={(value) => set(name, value)}
    />
  );
  return (
    <search className={classes.filters} aria-label={t`Filters`}>
      <SearchField label={t`Search`} value={search.q ?? ''} onSearch={(value) => set('q', value)} />
      <ActionSelect value={search.action ?? ''} onChange={(value) => set('action', value)} />
      <Button
        className={classes.fold}
        variant="default"
        aria-expanded={open}
        aria-controls="more-filters"
        onClick={() => setOpen(!open)}
      >
        {folded > 0 ? t`More filters (${folded})` : t`More filters`}
      </Button>
      <div id="more-filters" className={classes.folded} data-open={open}>
        {text('actor', t`Actor`)}
        {text('target', t`Target`)}
        {day('from', t({ message: 'From', context: 'a time' }), t`From this day`)}
        {day('to', t({ message: 'To', context: 'a day' }), t`To this day`)}
        {text('ip', t`From address`)}
      </div>
    </search>
  );
}

interface SelectProps {
  value: string;
  onChange: (action: string) => void;
}

function ActionSelect({ value, onChange }: SelectProps) {
  const { data } = useQuery(actionsQuery);
  const kinds = groupByKind(data ?? []);
  const isListed = kinds.some(
    ({ all, actions }) => all === value || actions.some(({ action }) => action === value),
  );
  return (
    <NativeSelect
      aria-label={t`Action`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">
        <Trans>All actions</Trans>
      </option>
      {value !== '' && !isListed && <option value={value}>{value}</option>}
      {kinds.map(({ name, all, actions }) => (
        <optgroup key={name} label={name}>
          {all !== null && <option value={all}>{t`${name}: all of it`}</option>}
          {actions.map(({ action, title }) => (
            <option key={action} value={action}>
              {translate(title)}
            </option>
          ))}
        </optgroup>
      ))}
    </NativeSelect>
  );
}
