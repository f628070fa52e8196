import { useId } from 'react';
import { ChoiceCard } from '@/ui/ChoiceCard';
import classes from './Choices.module.css';

interface Choice<T extends string> {
  value: T;
  title: string;
  about: string;
  disabled?: boolean;
}

interface Props<T extends string> {
  label: string;
  value: T;
  onChange: (value: T) => void;
  choices: readonly Choice<T>[];
}

/** A group of radio cards. */
export function Choices<T extends string>({ label, value, onChange, choices }: Props<T>) {
  const group = useId();
  return (
    <fieldset className={classes.choices}>
      <legend className={classes.label}>{label}</legend>
      {choices.map((choice) => (
        <ChoiceCard
          key={choice.value}
          group={group}
          value={choice.value}
          checked={choice.value === value}
          onChoose={() => onChange(choice.value)}
          title={choice.title}
          disabled={choice.disabled ?? false}
        >
          {choice.about}
        </ChoiceCard>
      ))}
    </fieldset>
  );
}
