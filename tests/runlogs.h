/* Parts of a run's log, as bytes. */
#ifndef LINNET_RUNLOGS_H
#define LINNET_RUNLOGS_H

#define HEADER_BEFORE \
    "step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n"
#define HEADER                                                                              \
    "step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,peak_mb," \
    "val_bits_per_byte,val_tokens,final_val_loss,val_accuracy,match_loss\n"
#define ROW_1 "1,0.5,10,0.25,0.001,3.5,,1,40,8,,,,,\n"
#define ROW_2 "2,1,20,0.5,0.001,3.25,3.125,1,40,8,0.75,20,,,\n"
#define ROW_3 "3,1.5,30,0.75,0.001,3,,1,60,9,,,,,\n"

#endif
