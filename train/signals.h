/* Signals: those that ask the training to end, and those that end the program on the spot. */
#ifndef LINNET_SIGNALS_H
#define LINNET_SIGNALS_H

/* From here on SIGINT, SIGTERM and SIGHUP (unless it was ignored) are remembered, for the loop
 * to end after the step at hand; a second one ends the program at once. */
void signals_catch(void);
/* The one that came; 0: none yet. */
int signals_caught(void);

/* Does as if this one had come, which came to another process of the run. */
void signals_take_over(int number);

/* What else must happen before a signal ends the program on the spot, be it a second interrupt
 * or a crash; it may only call what signal handlers may. NULL: nothing, as at first. */
void signals_set_last_act(void (*act)(void));

#endif
